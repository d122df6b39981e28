import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from generator.scene.projection import axes, project, ray, unproject
from generator.scene.scene import Camera

coordinate = st.floats(-8, 8).map(lambda v: round(v, 3))
point = st.tuples(coordinate, coordinate, coordinate)


@st.composite
def cameras(draw: st.DrawFn) -> Camera:
    position, target = draw(point), draw(point)
    assume(np.hypot(position[0] - target[0], position[1] - target[1]) > 0.5)
    return Camera(position, target, draw(st.floats(20, 90)), 32.0)


@given(cameras())
def test_axes_are_a_right_handed_frame_that_looks_at_the_target(camera: Camera) -> None:
    right, up, back = map(np.array, axes(camera.position, camera.target))
    frame = np.array([right, up, back])
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.cross(right, up), back, atol=1e-12)
    assert abs(right[2]) < 1e-12
    assert up[2] > 0


@given(cameras(), point, st.sampled_from([(320, 240), (96, 96), (100, 300)]))
def test_project_agrees_with_the_matrix_form(
    camera: Camera, world: tuple[float, float, float], size: tuple[int, int]
) -> None:
    width, height = size
    view = np.eye(4)
    view[:3, :3] = axes(camera.position, camera.target)
    view[:3, 3] = -view[:3, :3] @ camera.position
    x, y, z, _ = view @ [*world, 1]
    assume(-z > 0.1)
    focal = camera.lens / camera.sensor * max(size)
    column, row, depth = project(camera, *world, width, height)
    np.testing.assert_allclose(
        (column, row, depth),
        (width / 2 + focal * x / -z, height / 2 - focal * y / -z, -z),
        rtol=1e-9,
        atol=1e-6,
    )


@given(cameras(), st.floats(0, 320), st.floats(0, 240), st.floats(0.5, 30))
def test_project_undoes_ray(camera: Camera, column: float, row: float, depth: float) -> None:
    direction = np.array(ray(camera, column, row, 320, 240))
    world = np.array(camera.position) + depth * direction
    np.testing.assert_allclose(
        project(camera, *world, 320, 240), (column, row, depth), rtol=1e-6, atol=1e-6
    )


@given(cameras(), st.floats(0, 320), st.floats(0, 240), st.floats(0.5, 30))
def test_project_undoes_unproject(camera: Camera, column: float, row: float, depth: float) -> None:
    np.testing.assert_allclose(
        project(camera, *unproject(camera, column, row, depth, 320, 240), 320, 240),
        (column, row, depth),
        atol=1e-8,
    )
